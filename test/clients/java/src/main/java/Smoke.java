import com.meilisearch.sdk.Client;
import com.meilisearch.sdk.Config;
import com.meilisearch.sdk.Index;
import com.meilisearch.sdk.SearchRequest;
import com.meilisearch.sdk.model.Searchable;
import com.meilisearch.sdk.model.TaskStatus;

public class Smoke {
    public static void main(String[] arguments) throws Exception {
        Client client = new Client(new Config(arguments[0], arguments[1]));
        client.waitForTask(client.createIndex("smoke_java", "id").getTaskUid());
        Index index = client.index("smoke_java");
        client.waitForTask(index.updateFilterableAttributesSettings(new String[] {"year"}).getTaskUid());
        String documents = "[{\"id\":1,\"title\":\"Crime and Punishment\",\"year\":1866},{\"id\":2,\"title\":\"Dune\",\"year\":1965}]";
        int uid = index.addDocuments(documents).getTaskUid();
        client.waitForTask(uid);
        if (client.getTask(uid).getStatus() != TaskStatus.SUCCEEDED) throw new IllegalStateException("task " + uid);
        Searchable answer = index.search(
            new SearchRequest("crime punishmnt").setFilter(new String[] {"year < 1900"}));
        System.out.println(answer.getHits().size() + " hits: " + answer.getHits().get(0).get("title"));
    }
}
